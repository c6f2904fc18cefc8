from infold.gp import padding


def test_buckets_hold_n_grow_with_it_and_waste_at_most_a_quarter_above_256():
    sizes = [padding.bucket_size(n) for n in range(1, 3000)]
    assert all(size >= n for n, size in enumerate(sizes, start=1))
    assert sizes == sorted(sizes)
    assert all(size <= 1.25 * n for n, size in enumerate(sizes, start=1) if n > 256)


def test_few_buckets_up_to_310_points():
    assert len({padding.bucket_size(n) for n in range(1, 311)}) == 5
