import { spawnSync } from 'node:child_process'

/** Reason to skip a test of the verifier in Python; false if its programs are installed. */
const reason = (): string | false => {
  if (spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 8))']).status !== 0)
    return 'python3 3.8 or later is missing (package python3)'
  const { stdout } = spawnSync('openssl', ['version'])
  return /^OpenSSL [3-9]/.test(String(stdout)) ? false : 'openssl 3 is missing (package openssl)'
}

export const skip: string | false = reason()
