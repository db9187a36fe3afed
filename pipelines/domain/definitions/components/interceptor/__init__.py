"""Components of the kind interceptor."""
