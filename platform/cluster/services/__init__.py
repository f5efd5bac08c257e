"""Everything that changes nodes and the record of the conductor."""

from cluster.services.conductor import advance_cursor, check_epoch, take_epoch
from cluster.services.cordon import cordon_node, remove_node, uncordon_node
from cluster.services.inventory import InventoryChange, mark_silent_nodes, record_inventory
from cluster.services.windows import cancel_window, plan_window

__all__ = [
    "InventoryChange",
    "advance_cursor",
    "cancel_window",
    "check_epoch",
    "cordon_node",
    "mark_silent_nodes",
    "plan_window",
    "record_inventory",
    "remove_node",
    "take_epoch",
    "uncordon_node",
]
