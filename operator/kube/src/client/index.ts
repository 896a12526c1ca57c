/** The verbs of the API on one resource. Imports api and transport. */
export * from './client.ts';
export * from './tokenSource.ts';
