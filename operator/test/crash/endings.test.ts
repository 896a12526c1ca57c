import { endings } from './scenarios/endings.ts';
import { crashSuite } from './suite.ts';

crashSuite('the endings of tasks', endings);
