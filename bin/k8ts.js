#!/usr/bin/env node
import '../dist/src/main/k8ts.js';
