// Runs before every file of unit tests: one seed for all properties, reported when one fails.
import * as fc from 'fast-check';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env['AGENTFLEET_SEED']) });
