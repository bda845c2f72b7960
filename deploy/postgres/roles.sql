-- The two roles of docs/running.md, and the database. The image of PostgreSQL runs this file
-- once, when its volume is empty. In a database of your own: psql --file=deploy/postgres/roles.sql
\getenv owner_password OWNER_PASSWORD
\getenv app_password APP_PASSWORD
CREATE ROLE orders_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE orders_service NOLOGIN;
CREATE ROLE orders_app LOGIN PASSWORD :'app_password' IN ROLE orders_service;
CREATE DATABASE orders OWNER orders_owner;
