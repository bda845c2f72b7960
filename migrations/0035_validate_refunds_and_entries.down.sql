SELECT; -- a constraint stays valid
