"""The HTTP of the server: who is let in, what is read, what is answered."""
