-- The logins of the service and of Grafana, after schema/roles.sql:
-- psql --set=writer_password=... --set=reader_password=... --file=collector/logins.sql
SELECT 'CREATE ROLE observatory_service LOGIN IN ROLE mcp_observatory_writer'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'observatory_service') \gexec
ALTER ROLE observatory_service PASSWORD :'writer_password';

SELECT 'CREATE ROLE observatory_grafana LOGIN IN ROLE mcp_observatory_reader'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'observatory_grafana') \gexec
ALTER ROLE observatory_grafana PASSWORD :'reader_password';
-- A dashboard over a year must not hold up the writers.
ALTER ROLE observatory_grafana SET statement_timeout = '30s';
ALTER ROLE observatory_grafana SET default_transaction_read_only = on;
