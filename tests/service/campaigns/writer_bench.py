"""A writer on a SQLite file, for tests that form the groups of jobs themselves."""

from tutelage.service.campaigns.messages import PullRequest
from tutelage.service.campaigns.rebuilding import rebuild
from tutelage.service.campaigns.settings import Settings
from tutelage.service.campaigns.snapshot_format import dump_campaign
from tutelage.service.campaigns.writer import CreateJob, PullJob, ReadJob, Writer
from tutelage.stores import open_store
from tutelage.stores.base import pages

TEACHER = "twl(gamma1=1,gamma2=0)"


def sent(id, client="a", arm="x", reward=0.25, *, bypassed=False):
    """A pull."""
    return PullRequest(str(id), client, arm, reward, bypassed)


class WriterBench:
    """A writer whose groups a test makes itself, without its thread."""

    def __init__(self, path):
        self.store = open_store(f"sqlite:///{path}")
        self.groups = []
        self.time = 0
        self.begin()

    def begin(self):
        self.writer = Writer(self.store, lambda jobs: self.groups.append(list(jobs)), now=self.now)

    def now(self):
        self.time += 1
        return self.time

    def group(self, *jobs):
        self.writer._group(jobs)
        return jobs

    def do(self, job):
        self.group(job)
        if job.error is not None:
            raise job.error
        return job.result

    def create(self, start=True, **changed):
        given = {"name": "c", "arms": ("x", "y"), "horizon": 1000, "teacher": TEACHER, "clients": ("a", "b")}
        settings = Settings(**(given | changed))
        self.do(CreateJob(settings.name, settings=settings, start=start))

    def pull(self, *pulls):
        return self.do(PullJob("c", pulls=pulls))

    def look(self, look):
        return self.do(ReadJob("c", look=look))

    def verify(self):
        """Rebuild the campaign from its first row and compare it with the one in memory."""
        stored, _ = self.store.load("c")
        again = rebuild(stored, 0, None, pages(self.store, "c"))
        session = self.writer.sessions["c"]
        campaign, other = session.campaign, again.campaign
        assert (again.position, again.step, again.status) == (session.position, session.step, session.status)
        assert dump_campaign(other) == dump_campaign(campaign)
        assert again.bypassed == session.bypassed
        return again
