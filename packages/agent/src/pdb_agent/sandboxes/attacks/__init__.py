"""What code inside a sandbox might try, and how one knows that it came to nothing."""
