import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { startService } from '../start.ts'

const built = resolve(import.meta.dirname, '../../ui/assets')
const script = readdirSync(built).find((name) => /^index-.*\.js$/.test(name))!
const anonymous = { authorization: '' }

await t.test('files of the web UI are cached and compressed, and no other files are served', async (t) => {
  const { request } = await startService(t)
  const get = (path: string, headers = {}) => request('GET', path, undefined, { ...anonymous, ...headers })
  const plain = await get(`/ui/assets/${script}`)
  t.match(plain.headers, {
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    vary: 'accept-encoding',
  })
  t.equal(plain.headers['content-encoding'], undefined)
  const zipped = await get(`/ui/assets/${script}`, { 'accept-encoding': 'gzip' })
  t.equal(zipped.headers['content-encoding'], 'gzip')
  t.equal(zipped.text, plain.text)
  const br = await get(`/ui/assets/${script}`, { 'accept-encoding': 'gzip, br' })
  t.equal(br.headers['content-encoding'], 'br')
  t.ok(Number(br.headers['content-length']) < Number(zipped.headers['content-length']))
  t.equal((await get(`/ui/assets/${script}`, { 'accept-encoding': 'br;q=0' })).headers['content-encoding'], undefined)
  const head = await request('HEAD', `/ui/assets/${script}`, undefined, anonymous)
  t.match([head.status, head.text], [200, ''])
  t.match((await get('/ui/icon.svg')).headers, {
    'content-type': 'image/svg+xml',
    'cache-control': 'public, max-age=86400',
  })
  for (const path of ['nothing', `assets/${script}.map`, `assets/${script}.br`, 'assets/', ''])
    t.equal((await get(`/ui/${path}`, { accept: 'text/html' })).status, 404, path)
  t.equal((await request('POST', `/ui/assets/${script}`, {}, anonymous)).status, 405)
})

await t.test('no files are served without the web UI', async (t) => {
  const { request } = await startService(t, { 'ui.enabled': 'false' })
  for (const path of [`/ui/assets/${script}`, '/ui/icon.svg', '/login'])
    t.equal((await request('GET', path, undefined, { ...anonymous, accept: 'text/html' })).status, 404, path)
})
