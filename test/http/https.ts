import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import type { Test } from 'tap'

/** Settings of a service with HTTPS and its own certificate. */
export const httpsSettings = async (t: Test) => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  t.teardown(() => rm(directory, { recursive: true }))
  const pair = await generate([{ name: 'commonName', value: 'localhost' }])
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')]
  await Promise.all([writeFile(cert, pair.cert), writeFile(key, pair.private)])
  return {
    'server.protocol': 'https',
    'server.https_port': '0',
    'server.cert_file': cert,
    'server.cert_key': key,
  }
}
