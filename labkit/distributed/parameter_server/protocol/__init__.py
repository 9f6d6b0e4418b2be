"""What servers and workers say to each other, and who may begin or push when.

server.py and client.py, above, are the two ends.
"""
