"""A stand-in that has only what estimators need of the package's module of this name."""

import functools
import logging

log = logging.getLogger("lm_polygraph")


def polygraph_module_init(init):
    """Write to the log which estimator is made."""

    @functools.wraps(init)
    def logged(self, *args, **kwargs):
        log.info("%s is made", type(self).__name__)
        return init(self, *args, **kwargs)

    return logged
