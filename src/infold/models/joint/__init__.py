"""The joint model of the paper: encoder, response surface and decoder, trained together."""

from infold.models.joint.decoder import Decoder
from infold.models.joint.encoder import Encoder
from infold.models.joint.fit import Fit, FitSettings, fit
from infold.models.joint.joint import JointModel, Priors

__all__ = ["Decoder", "Encoder", "Fit", "FitSettings", "JointModel", "Priors", "fit"]
