"""Django: migrations of its own applications, queries of the ORM, models inspected from the database."""

import io
import os

import django
from django.conf import settings

settings.configure(
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "USER": os.environ["PGUSER"],
        "PASSWORD": "", "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
    }},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", USE_TZ=True, SECRET_KEY="of no value",
)
django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402
from django.core.management import call_command  # noqa: E402

call_command("migrate", verbosity=0)
user, _ = User.objects.get_or_create(username="ada", defaults={"email": "ada@example.org"})
group, _ = Group.objects.get_or_create(name="writers")
user.groups.add(group)
assert User.objects.filter(groups__name="writers", username__startswith="a").count() == 1
out = io.StringIO()
call_command("inspectdb", "auth_user", stdout=out)
assert "username = models.CharField(unique=True, max_length=150)" in out.getvalue(), out.getvalue()
call_command("migrate", "sessions", "zero", verbosity=0)
call_command("migrate", verbosity=0)
user.delete()
