-- complain if this is fed to psql instead of ALTER EXTENSION
\echo Use "ALTER EXTENSION iforest UPDATE TO '1.2'" to load this file. \quit
