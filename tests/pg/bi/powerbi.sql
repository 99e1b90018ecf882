-- Power BI, DirectQuery

-- name: powerbi_card | tool: Power BI | rows: 13, S3, S6 | on: spans parted_spans | expect: node
select sum("rows"."dur") as "a0" from ( select "dur" from :t "$Table" ) "rows";

-- name: powerbi_visual | tool: Power BI | rows: 13, 14, 24, S6 | on: spans local_spans parted_spans | expect: node
select "_"."service" as "c2", "_"."a0" as "a0" from ( select "_"."service", "_"."a0" from ( select "_"."service", "_"."a0" from (
	select "rows"."service" as "service", sum("rows"."dur") as "a0" from ( select "service", "dur" from :t "$Table" ) "rows" group by "service"
) "_" where not "_"."a0" is null ) "_" ) "_" order by "_"."a0" desc, "_"."service" limit 1001;

-- name: powerbi_measures | tool: Power BI | rows: 13, 14, S6 | expect: node
select "_"."service", "_"."status", "_"."a0", "_"."a1", "_"."a2" from (
	select "rows"."service" as "service", "rows"."status" as "status", sum("rows"."dur") as "a0", avg("rows"."x") as "a1", count("rows"."amount") as "a2"
	from ( select "service", "status", "dur", "x", "amount" from "public"."spans" "$Table" ) "rows" group by "service", "status" ) "_"
where (not "_"."a0" is null or not "_"."a1" is null) or not "_"."a2" is null limit 1000001;

-- name: powerbi_decimal | tool: Power BI | rows: 23, N9 | on: spans local_spans parted_spans | expect: node
select "rows"."service" as "service", sum(cast("rows"."dur" as decimal)) as "a0", sum(cast("rows"."amount" as decimal)) as "a1"
from ( select "service", "dur", "amount" from :t "$Table" ) "rows" group by "service" order by 1;

-- name: powerbi_decimal_of_real | tool: Power BI | rows: 23, N9 | expect: declined: a sum or average is of something over which sums do not distribute exactly
select "rows"."service" as "service", sum(cast("rows"."x" as decimal)) as "a0"
from ( select "service", "x" from spans "$Table" ) "rows" group by "service" order by 1;

-- name: powerbi_range | tool: Power BI | rows: 13, 19, S6, N3 | on: spans local_spans parted_spans | expect: node
select "rows"."service" as "service", count(1) as "a0", min("rows"."dur") as "a1", max("rows"."dur") as "a2" from (
	select "_"."ts", "_"."service", "_"."dur" from :t "_"
	where "_"."ts" < timestamp '2024-11-04 00:00:00' and "_"."ts" >= timestamp '2024-10-05 12:00:00') "rows" group by "service" order by 1;

-- name: powerbi_null_order | tool: Power BI | rows: 13, 24, S6 | on: spans local_spans | expect: node
select "_"."ts_hour", "_"."a0", case when "_"."ts_hour" is not null then "_"."ts_hour" else timestamp '1899-12-28 00:00:00' end as "t0_0",
	case when "_"."ts_hour" is null then 0 else 1 end as "t1_0"
from ( select "rows"."ts_hour" as "ts_hour", sum("rows"."dur") as "a0" from (
	select "_"."dur" as "dur", date_trunc('hour', "_"."ts") as "ts_hour" from :t "_" ) "rows" group by "ts_hour" ) "_"
where not "_"."a0" is null order by "t1_0", "t0_0" limit 501;

-- name: powerbi_slicer_probe | tool: Power BI | rows: 13, S3 | on: spans local_spans parted_spans | expect: node
select max("rows"."ts") as "a0", min("rows"."ts") as "a1", count("rows"."ts") as "a2" from ( select "ts" from :t "$Table" ) "rows";

-- name: powerbi_view_by_hour | tool: Power BI | rows: 13, 20, S6, N4 | expect: node
select "rows"."ts_hour" as "ts_hour", sum("rows"."dur") as "a0" from ( select "ts_hour", "dur" from "public"."spans_by_hour" "_"
	where "_"."ts_hour" < timestamp '2024-03-11 00:00:00' and "_"."ts_hour" >= timestamp '2024-03-09 00:00:00') "rows" group by "ts_hour" order by 1;

-- name: powerbi_view_one_day | tool: Power BI | rows: 20, N4 | expect: node
select sum("rows"."dur") as "a0", count(*) as "a1" from ( select "dur" from "public"."spans_by_hour" "_" where cast("_"."ts_hour" as date) = date '2024-11-03' ) "rows";

-- name: powerbi_text_key | tool: Power BI | rows: 13, N10 | on: spans local_spans | expect: node
select "rows"."key" as "c1", sum("rows"."amount") as "a0" from (
	select "_"."amount", left(cast(extract(year from "_"."ts") as varchar),4000) || '-' || left(cast(extract(month from "_"."ts") as varchar),4000) as "key"
	from :t "_" ) "rows" group by "key" order by "key" limit 1000001;

-- name: powerbi_distinct_count | tool: Power BI | rows: N7 | expect: node
select count(distinct("rows"."service")) + max(case when "rows"."service" is null then 1 else 0 end) as "a0"
from ( select "service" from spans "$Table" ) "rows";

-- name: powerbi_has_nulls | tool: Power BI | rows: 22 | expect: node
select max(case when "rows"."service" is null then 1 else 0 end) as "a0", min(case when "rows"."status" is null then 1 else 0 end) as "a1"
from ( select "service", "status" from spans "$Table" ) "rows";

-- name: powerbi_semi_join | tool: Power BI | rows: N5 | expect: 2 nodes
select "$Outer"."service", sum("$Outer"."dur") as "a0" from spans "$Outer" inner join (
	select "service" from spans where "status" = 'error' group by "service" ) "$Inner"
on ("$Outer"."service" = "$Inner"."service" or "$Outer"."service" is null and "$Inner"."service" is null)
group by "$Outer"."service" order by 1;

-- name: powerbi_slicer_values | tool: Power BI | rows: 25, 13 | expect: node
select "rows"."service" as "service" from ( select "service" from spans "$Table" ) "rows" group by "service" order by "service" limit 101;

-- name: powerbi_date_hierarchy | tool: Power BI | rows: 13, N10 | expect: node
select "rows"."y", "rows"."m", count(*) as "a0" from ( select date_part('year', "ts") as "y", date_part('month', "ts") as "m" from spans "$Table" ) "rows"
group by "y", "m" order by 1, 2;

-- name: powerbi_filtered_measure | tool: Power BI | rows: 22, S9 | expect: node
select "rows"."service", sum(case when "rows"."status" = 'error' then "rows"."dur" else null end) as "a0", sum("rows"."dur") as "a1"
from ( select "service", "status", "dur" from spans "$Table" ) "rows" group by "service" order by 1;
