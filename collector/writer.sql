-- The login of the service: psql --set=writer_password=... --file=collector/writer.sql, after schema/roles.sql.
SELECT 'CREATE ROLE observatory_service LOGIN IN ROLE mcp_observatory_writer'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'observatory_service') \gexec
ALTER ROLE observatory_service PASSWORD :'writer_password';
