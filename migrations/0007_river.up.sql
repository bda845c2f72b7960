-- River keeps its jobs in a schema of its own and migrates it itself: `orders migrate up`
-- runs River's migrations after ours.
CREATE SCHEMA river;
