-- The roles of docs/operate.md, and the database. The image of PostgreSQL runs this file
-- once, when its volume is empty. In a database of your own: psql --file=deploy/postgres/roles.sql
\getenv owner_password OWNER_PASSWORD
\getenv app_password APP_PASSWORD
CREATE ROLE orders_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE orders_service NOLOGIN;
CREATE ROLE orders_app LOGIN PASSWORD :'app_password' IN ROLE orders_service;
CREATE ROLE orders_operator NOLOGIN; -- each operator gets a login in it
CREATE DATABASE orders OWNER orders_owner;

-- PostgreSQL lets every role connect to every database, and create large objects. Leave the
-- first statement out on a server that others share: their roles may need it.
REVOKE CONNECT ON DATABASE postgres, template1 FROM PUBLIC;
REVOKE CONNECT ON DATABASE orders FROM PUBLIC;
\connect orders
REVOKE EXECUTE ON FUNCTION lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea) FROM PUBLIC;
