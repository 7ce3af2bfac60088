import { spawnSync } from 'node:child_process'

/** Reason to skip a test of the verifier in Python; false if its programs are installed. */
const reason = (): string | false => {
  if (spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 8))']).status !== 0)
    return 'needs python3 3.8 or later (Debian: apt-get install python3)'
  const { stdout } = spawnSync('openssl', ['version'])
  return /^OpenSSL [3-9]/.test(String(stdout)) ? false : 'needs openssl 3 (Debian: apt-get install openssl)'
}

export const skip: string | false = reason()
