DROP TABLE entry;
