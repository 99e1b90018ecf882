-- For postgres_suite.sh: every table that is made in this database gets iforest indexes, if it has columns for them. One is over its first
-- time column alone with all its values, the other by its first by column and over its last time column. Names have the table's number,
-- so that they take none that the suite expects.
CREATE SCHEMA suite_indexes;
GRANT USAGE ON SCHEMA suite_indexes TO PUBLIC;

CREATE FUNCTION suite_indexes.make() RETURNS event_trigger LANGUAGE plpgsql SET search_path = pg_catalog
	SET client_min_messages = error AS $$
DECLARE
	made record;
	times text[];
	by_column text;
	included text;
BEGIN
	FOR made IN SELECT DISTINCT objid AS id FROM pg_event_trigger_ddl_commands() WHERE object_type = 'table' LOOP
		SELECT array_agg(name ORDER BY attnum)
				FILTER (WHERE type IN ('int2', 'int4', 'int8', 'date', 'timestamp', 'timestamptz', 'float8')),
			(array_agg(name ORDER BY attnum)
				FILTER (WHERE is_enum OR type IN ('bool', 'char', 'int2', 'int4', 'int8', 'oid', 'text', 'varchar', 'bpchar', 'name',
					'bytea', 'uuid', 'date', 'time', 'timestamp', 'timestamptz', 'inet', 'macaddr')))[1],
			' INCLUDE (' || array_to_string((array_agg(name ORDER BY attnum)
				FILTER (WHERE is_short OR type IN ('int2', 'int4', 'int8', 'float4', 'float8', 'date', 'timestamp',
					'timestamptz')))[1:8], ', ') || ')'
			INTO times, by_column, included
			FROM (SELECT quote_ident(attname) AS name, attnum, typname AS type, typtype = 'e' AS is_enum,
					typname = 'numeric' AND atttypmod >= 4 AND (atttypmod - 4) >> 16 <= 18 AS is_short
				FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
				WHERE attrelid = made.id AND attnum > 0 AND NOT attisdropped) AS columns;
		CONTINUE WHEN times IS NULL;
		BEGIN
			EXECUTE format('CREATE INDEX iforest_%s_time ON %s USING iforest (%s)%s', made.id, made.id::regclass, times[1],
				included);
			EXECUTE format('CREATE INDEX iforest_%s_by ON %s USING iforest (%s, %s)%s', made.id, made.id::regclass,
				by_column, times[cardinality(times)], included);
		EXCEPTION WHEN OTHERS THEN
			RAISE LOG 'no iforest index on %: %', made.id::regclass, SQLERRM;
		END;
	END LOOP;
END $$;

CREATE EVENT TRIGGER suite_indexes ON ddl_command_end WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO')
	EXECUTE FUNCTION suite_indexes.make();
