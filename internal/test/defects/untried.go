package main

var untried []defect
