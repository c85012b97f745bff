from flgames.cli import app

app()
