"""What a teacher hands to a class: notebooks, each complete in itself."""
