"""The questions of clients.txt as Django's models put them, through psycopg2. Prints a line for each: name, tab, rows."""
import os
from datetime import datetime

import django
from django.conf import settings

settings.configure(
    USE_TZ=False,
    TIME_ZONE="UTC",
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "postgres", "HOST": os.environ["PGHOST"], "USER": os.environ["PGUSER"]}},
)
django.setup()
from django.db import connection, models  # noqa: E402
from django.db.models import Avg, Case, Count, F, IntegerField, Max, Min, Sum, Value, When  # noqa: E402
from django.db.models.functions import ExtractWeekDay, TruncDay, TruncHour  # noqa: E402


class Span(models.Model):
    service = models.TextField()
    status = models.TextField()
    ts = models.DateTimeField()
    dur = models.BigIntegerField(null=True)

    class Meta:
        app_label = "clients"
        db_table = "spans"


start, end = datetime(2024, 3, 3, 4, 5), datetime(2024, 3, 20)
spans = Span.objects.all()
window = spans.filter(ts__gte=start, ts__lt=end)
slow = Case(When(dur__gte=900000, then=Value(1)), output_field=IntegerField())

questions = {
    "hourly": lambda: list(window.annotate(at=TruncHour("ts")).values("at").annotate(n=Count("id"), total=Sum("dur")).order_by("at")),
    "by_service": lambda: list(spans.values("service").annotate(n=Count("id"), mean=Avg("dur"), most=Max("dur")).order_by("service")),
    "daily_by_status": lambda: list(spans.filter(ts__range=(start, end)).annotate(at=TruncDay("ts")).values("at", "status").annotate(n=Count("*")).order_by("at", "status")),
    "total": lambda: window.count(),
    "services": lambda: spans.aggregate(n=Count("service", distinct=True)),
    "slow": lambda: list(spans.values("service").annotate(n=Count(slow)).order_by("service")),
    "having": lambda: list(spans.values("service", "status").annotate(n=Count("id")).filter(n__gt=10000).order_by("service", "status")),
    "longest": lambda: list(spans.exclude(dur=None).order_by("-dur").values_list("id", "dur")[:10]),
    "latest": lambda: list(spans.order_by("service", "-ts").distinct("service").values_list("service", "ts", "dur")),
    "wrapped_count": lambda: window.values("service", "status").distinct().count(),
    "extremes": lambda: spans.aggregate(Min("ts"), Max("ts")),
    "in_list": lambda: list(spans.filter(service__in=["service 1", "service 3"], status="error").annotate(at=TruncDay("ts")).values("at").annotate(total=Sum("dur")).order_by("at")),
    "milliseconds": lambda: list(spans.values("service").annotate(mean=Avg(F("dur") / 1000.0)).order_by("service")),
    "nulls": lambda: spans.aggregate(n=Sum(Case(When(dur=None, then=Value(1)), default=Value(0), output_field=IntegerField()))),
    "weekday": lambda: list(spans.annotate(day=ExtractWeekDay("ts")).values("day").annotate(n=Count("id")).order_by("day")),
    "of_others": lambda: spans.filter(service__in=spans.filter(ts__lt=datetime(2024, 3, 1, 0, 1)).values("service")).count(),
    "top": lambda: list(spans.values("service").annotate(total=Sum("dur")).order_by("-total")[:3]),
}

for name, ask in questions.items():
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('application_name', %s, false)", [name])
    print(name, repr(ask()), sep="\t")
