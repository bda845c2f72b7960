package main

// livenessDefects kept the service from doing its work.
var livenessDefects = []defect{}
