"""The joint model of the paper: encoder, response surface and decoder, trained together."""

from infold.surrogate.decoder import Decoder
from infold.surrogate.encoder import Encoder
from infold.surrogate.fit import Fit, FitSettings, fit
from infold.surrogate.joint import JointModel, Priors

__all__ = ["Decoder", "Encoder", "Fit", "FitSettings", "JointModel", "Priors", "fit"]
