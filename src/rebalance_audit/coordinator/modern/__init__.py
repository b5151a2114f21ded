"""Groups whose coordinator assigns: consumer (KIP-848), share (KIP-932) and streams (KIP-1071)."""
