"""The logs of this broker: who has them, who compacts them, who copies them from their leaders."""
