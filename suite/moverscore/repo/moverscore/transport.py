"""The transportation problem, solved as a linear programme."""

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor


def optimal_flow(supply: Tensor, demand: Tensor, cost: Tensor) -> Tensor:
    """The flow that moves all of the supply to where the demand is, at the least total cost.

    Args:
        supply: what lies at each origin, (origins,), not negative and not all zero.
        demand: what each destination takes, (destinations,), not negative; it must have the total of the supply.
        cost: the price of moving one unit from an origin to a destination, (origins, destinations), finite.

    Returns:
        The flow in double precision, (origins, destinations): rows sum to the supply, columns to the demand.

    Raises:
        ValueError: supply and demand have different totals.
    """
    origins, destinations = cost.shape
    supply, demand = supply.double(), demand.double()
    totals = float(supply.sum()), float(demand.sum())
    if abs(totals[0] - totals[1]) > 1e-5:
        raise ValueError(f"a supply of {totals[0]} cannot meet a demand of {totals[1]}")
    # What rounding left of a difference would make the programme infeasible.
    demand = demand * (totals[0] / totals[1])
    leaving = np.kron(np.eye(origins), np.ones(destinations))
    arriving = np.kron(np.ones(origins), np.eye(destinations))
    # The last destination gets what is left: its constraint follows from the others.
    programme = linprog(
        cost.double().numpy().ravel(),
        A_eq=np.concatenate([leaving, arriving[:-1]]),
        b_eq=np.concatenate([supply.numpy(), demand.numpy()[:-1]]),
        method="highs-ds",
    )
    return torch.from_numpy(programme.x).reshape(origins, destinations)
