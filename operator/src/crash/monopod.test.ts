import { monopod } from './scenarios/monopod.ts';
import { crashSuite } from './suite.ts';

crashSuite('engines of one pod', monopod);
