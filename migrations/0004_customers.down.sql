DROP TABLE customer_profile;
