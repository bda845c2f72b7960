DROP TABLE dispute;
