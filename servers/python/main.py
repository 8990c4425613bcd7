"""Starts the server. Run it with the Python of `.venv`, from any folder: `.venv/bin/python main.py`."""

from stackmark_server.serve import main

if __name__ == "__main__":
    main()
