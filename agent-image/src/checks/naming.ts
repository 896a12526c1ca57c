/**
 * Variables that make runners name every test instead of counting those that pass, so that a check
 * like `pytest -q` can be compared test by test. Added to what the environment already says.
 *
 * pytest reads PYTEST_ADDOPTS (docs.pytest.org, "Configuration"), go test GOFLAGS (`go help environment`).
 * `-json` is not for GOFLAGS: with it `go vet` always succeeds.
 */
export function namingEnvironment(environment: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const added = (name: string, option: string): string => [environment[name] ?? '', option].join(' ').trim();
  return { PYTEST_ADDOPTS: added('PYTEST_ADDOPTS', '-rA'), GOFLAGS: added('GOFLAGS', '-v') };
}
