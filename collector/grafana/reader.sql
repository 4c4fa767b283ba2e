-- The login Grafana asks with: psql --set=password=... --file=collector/grafana/reader.sql, after schema/roles.sql.
SELECT 'CREATE ROLE observatory_grafana LOGIN IN ROLE mcp_observatory_reader'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'observatory_grafana') \gexec
ALTER ROLE observatory_grafana PASSWORD :'password';
-- A dashboard over a year must not hold up the writers.
ALTER ROLE observatory_grafana SET statement_timeout = '30s';
ALTER ROLE observatory_grafana SET default_transaction_read_only = on;
