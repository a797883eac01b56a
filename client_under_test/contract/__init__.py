"""The contract with adapters: messages, the conversation, and what can go wrong in it."""
