"""JupyterLab's window on work/: a lesson that is asked for and not there yet is copied first."""

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

from labkit.course import CourseError, copies, start
from labkit.course.config import config


class LessonContents(AsyncLargeFileManager):
    """Serves the learner's copies; the start page is written anew whenever it is opened."""

    async def get(self, path: str, *args, **kwargs):
        """What lies at `path`, made first if it is a lesson's copy; HTTPError 500 says why not."""
        self._prepare(path)
        return await super().get(path, *args, **kwargs)

    async def file_exists(self, path: str) -> bool:
        """Whether it is there once it was made; JupyterLab asks this before it opens a link."""
        self._prepare(path)
        return await super().file_exists(path)

    def _prepare(self, path: str) -> None:
        """Copy or write what `path` names. JupyterLab shows the sentence of a failure."""
        try:
            if path.strip("/") == start.PAGE:
                start.write(config())
            else:
                copies.ensure(config(), path)
        except (OSError, CourseError) as error:
            raise HTTPError(500, f"work/{path} could not be made: {error}") from error
