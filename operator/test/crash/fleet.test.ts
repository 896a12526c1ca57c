import { fleet } from './scenarios/fleet.ts';
import { crashSuite } from './suite.ts';

crashSuite('pools and models', fleet);
