"""The questions of clients.txt as SQLAlchemy's core and ORM put them, through psycopg2. Prints a line for each: name, tab, rows."""
import os
from datetime import datetime
from sqlalchemy import BigInteger, Column, DateTime, Text, case, create_engine, desc, func, select, text
from sqlalchemy.orm import Session, declarative_base

Base = declarative_base()


class Span(Base):
    __tablename__ = "spans"
    id = Column(BigInteger, primary_key=True)
    service = Column(Text)
    status = Column(Text)
    ts = Column(DateTime)
    dur = Column(BigInteger)


start, end = datetime(2024, 3, 3, 4, 5), datetime(2024, 3, 20)
window = (Span.ts >= start, Span.ts < end)
hour, day = func.date_trunc("hour", Span.ts), func.date_trunc("day", Span.ts)
engine = create_engine(f"postgresql+psycopg2://{os.environ['PGUSER']}@/postgres?host={os.environ['PGHOST']}")
newest = func.row_number().over(partition_by=Span.service, order_by=Span.ts.desc())
ranked = select(Span.service, Span.ts, Span.dur, newest.label("place")).subquery()

questions = {
    "hourly": lambda s: s.query(hour, func.count(), func.sum(Span.dur)).filter(*window).group_by(hour).order_by(hour).all(),
    "by_service": lambda s: s.query(Span.service, func.count(Span.id), func.avg(Span.dur), func.max(Span.dur)).group_by(Span.service).order_by(Span.service).all(),
    "daily_by_status": lambda s: s.query(day, Span.status, func.count()).filter(Span.ts.between(start, end)).group_by(day, Span.status).order_by(day, Span.status).all(),
    "total": lambda s: s.query(func.count()).select_from(Span).filter(*window).scalar(),
    "services": lambda s: s.query(func.count(Span.service.distinct())).scalar(),
    "slow": lambda s: s.query(Span.service, func.count(case((Span.dur >= 900000, 1)))).group_by(Span.service).order_by(Span.service).all(),
    "having": lambda s: s.query(Span.service, Span.status).group_by(Span.service, Span.status).having(func.count() > 10000).order_by(Span.service, Span.status).all(),
    "longest": lambda s: s.query(Span.id, Span.dur).filter(Span.dur.isnot(None)).order_by(Span.dur.desc()).limit(10).all(),
    "latest": lambda s: s.query(ranked.c.service, ranked.c.ts, ranked.c.dur).filter(ranked.c.place == 1).order_by(ranked.c.service).all(),
    "wrapped_count": lambda s: s.query(Span).filter(*window).count(),
    "p95": lambda s: s.query(Span.service, func.percentile_cont(0.95).within_group(Span.dur)).filter(Span.ts >= start, Span.ts < datetime(2024, 3, 4)).group_by(Span.service).order_by(Span.service).all(),
    "extremes": lambda s: s.query(func.min(Span.ts), func.max(Span.ts)).one(),
    "in_list": lambda s: s.query(day, func.sum(Span.dur)).filter(Span.service.in_(["service 1", "service 3"]), Span.status == "error").group_by(day).order_by(day).all(),
    "milliseconds": lambda s: s.query(Span.service, func.avg(Span.dur / 1000.0)).group_by(Span.service).order_by(Span.service).all(),
    "nulls": lambda s: s.query(func.sum(case((Span.dur.is_(None), 1), else_=0))).scalar(),
    "weekday": lambda s: s.query(func.extract("dow", Span.ts).label("day"), func.count()).group_by("day").order_by("day").all(),
    "of_others": lambda s: s.query(func.count()).filter(Span.service.in_(select(Span.service).where(Span.ts < datetime(2024, 3, 1, 0, 1)))).scalar(),
    "rollup": lambda s: s.query(Span.service, Span.status, func.count()).group_by(func.rollup(Span.service, Span.status)).order_by(Span.service, Span.status).all(),
    "top": lambda s: s.query(Span.service, func.sum(Span.dur).label("total")).group_by(Span.service).order_by(desc("total")).limit(3).all(),
}

with Session(engine) as session:
    for name, ask in questions.items():
        session.execute(text("SELECT set_config('application_name', :name, false)"), {"name": name})
        print(name, repr(ask(session)), sep="\t")
