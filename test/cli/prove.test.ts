import { readFileSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t from 'tap'
import { readEventFile } from '../../src/verifier/check/event-proof.ts'
import { parseVkey, vkeyOf } from '../../src/verifier/note/vkey.ts'
import { verifyProof } from '../../src/verifier/proof/proof-text.ts'
import { vectors } from '../ledger/vectors.ts'
import { type Started, startService } from '../start.ts'
import { ORIGIN, signerWith, testLedger, VKEY } from './ledger-server.ts'
import { rollcall, standIn } from './service.ts'

type Keys = { readonly origin: string; readonly keys: readonly { readonly vkey: string }[] }
const FLAGS = '/api/v1/namespaces/default/flags'

const withService = async (t: Parameters<typeof startService>[0]) => {
  const service = await startService(t, { 'history.ledger.seal_interval': '1h' })
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  const folder = t.testdir()
  const { origin, keys } = (await service.request<Keys>('GET', '/audit/v1/ledger')).json
  return {
    service,
    folder,
    origin,
    vkey: keys[0]!.vkey,
    run: (...args: readonly string[]) => rollcall(args, env),
    file: (name: string) => join(folder, name),
  }
}

const createFlag = (service: Started, key: string) =>
  service.request('POST', FLAGS, { key, name: key, type: 'BOOLEAN_FLAG_TYPE' })

/** Changes that mail and editors make to a text. */
const mailed: Readonly<Record<string, (text: string) => string>> = {
  'carriage returns': (text) => text.replaceAll('\n', '\r\n'),
  'a BOM': (text) => `\ufeff${text}`,
  'no last line end': (text) => text.slice(0, -1),
  'two last line ends': (text) => `${text}\n`,
  'blanks at the ends of lines': (text) => text.replaceAll('\n', ' \t\n'),
  'a quotation': (text) => text.replace(/^(?=.)/gm, '> ').replace(/^$/gm, '>'),
  'a quotation in a quotation': (text) => text.replace(/^/gm, '>> ').replaceAll('\n', '\r\n'),
}

/** The command without a service and without an environment. */
const verified = (input: string, ...args: readonly string[]) => rollcall(['verify-proof', ...args], {}, input)

await t.test('a proof of an event is verified without the service, and each change is found', async (t) => {
  const { service, run, file, vkey, origin } = await withService(t)
  await createFlag(service, 'f')
  const proof = file('f.tlog-proof')
  t.match(await run('prove', '@0', '-o', proof), { exit: 0, out: '', err: /Event 0 is in the tree of \d+ events/ })
  const text = readFileSync(proof, 'utf8')
  t.equal((await run('prove', '@0', '-q')).out, text, 'standard output')
  const shown = await verified('', proof, '--vkey', vkey, '-o', 'json')
  const [size, root] = text
    .slice(text.indexOf('\n\n') + 2)
    .split('\n')
    .slice(1)
  t.match(JSON.parse(shown.out), { index: 0, revision: 0, withheld: [], origin, size: Number(size), root })
  t.match(await verified(text, '-', '--vkey', vkey), { exit: 0, out: /^TYPE +\S+$/m, err: '' })
  for (let at = 0; at < text.length; at++) {
    for (const other of ['A', 'B', '\n', '+'].filter((sign) => sign !== text[at])) {
      const changed = `${text.slice(0, at)}${other}${text.slice(at + 1)}`
      if (typeof verifyProof(changed, [parseVkey(vkey)!]) !== 'string') t.fail(`the change of byte ${at} is not found`)
    }
  }
  const other = vkeyOf(signerWith(9, origin).key)
  const cases = [
    [2, 'needs the key', text, '-'],
    [2, 'not a verifier key', text, '-', '--vkey', 'a+b+c'],
    [4, 'cannot be read', '', file('none'), '--vkey', vkey],
    [3, 'no signature of the verifier key', text, '-', '--vkey', other],
    [3, 'of another ledger', text, '-', '--vkey', vkeyOf(signerWith(9).key)],
    [2, 'not a proof of an event', text.slice(0, 100), '-', '--vkey', vkey],
    [3, 'wrong signature', text.replace(`\n${size}\n`, `\n${Number(size) + 1}\n`), '-', '--vkey', vkey],
    [3, 'not in the tree', text.replace('index 0', 'index 1'), '-', '--vkey', vkey],
    [2, 'damaged checkpoint', text.slice(0, -4), '-', '--vkey', vkey],
  ] as const
  for (const [exit, words, input, ...args] of cases) {
    const ran = await verified(input, ...args)
    t.match(ran, { exit, out: '' }, words)
    t.match(ran.err, words)
  }
  for (const [way, through] of Object.entries(mailed)) {
    const ran = await verified(through(text), '-', '--vkey', vkey)
    t.match(ran, { exit: 0 }, `${way}: ${ran.err}`)
  }
  t.equal((await run('prove', '#999999')).exit, 4)
  t.match(await run('prove', '@0', '--size', '99999'), { exit: 4, err: /keeps no checkpoint of size 99999/ })
  t.equal((await run('prove', '@0', '--withhold', 'all')).exit, 2)
})

await t.test('the signature of a given witness is shown with its time', async (t) => {
  const { tlogProof, cosigned, key } = vectors
  const text = tlogProof.text.replace(/\n\n[^]*/, `\n\n${cosigned.text}`)
  const keys = ['--vkey', key.vkey, '--vkey', cosigned.witnessVkey]
  const { signedBy } = JSON.parse((await verified(text, '-', ...keys, '-o', 'json')).out) as { signedBy: string[] }
  const [name] = cosigned.witnessVkey.split('+')
  t.strictSame(signedBy.slice(1), [`${name} at ${new Date(cosigned.time * 1000).toISOString()}`])
})

await t.test('a withheld text is reported, and a long text stands in a file of its own', async (t) => {
  const { service, run, file, vkey } = await withService(t)
  await service.request('POST', FLAGS, { key: 'long', name: 'long', type: 'VARIANT_FLAG_TYPE' })
  const variant = { key: 'v', attachment: JSON.stringify('ä'.repeat(30_000)) }
  const { headers } = await service.request('POST', `${FLAGS}/long/variants`, variant)
  const last = ['prove', `#${headers['event-position'] as string}`] as const
  const [proof, event] = [file('p'), file('p.event.json')]
  t.match(await run(...last, '-o', proof), { exit: 0, err: /The data of the event do not fit .*p\.event\.json/ })
  const bare = JSON.parse((await verified('', proof, '--vkey', vkey, '-o', 'json')).out) as object
  t.match(bare, { withheld: ['data'], meta: /^\{/ })
  const whole = await verified('', proof, '--vkey', vkey, '--event', event, '-o', 'json')
  t.match(JSON.parse(whole.out), { withheld: [], data: /ä{30000}/ })
  const line = readFileSync(event, 'utf8')
  const refuse = async (changed: string, words: RegExp, exit = 3) => {
    writeFileSync(event, changed)
    t.match(await verified('', proof, '--vkey', vkey, '--event', event), { exit, out: '', err: words }, String(words))
  }
  await refuse(line.replace('ää', 'äö'), /has data that are not those/)
  await refuse(line.replace('"actor"', '"aktor"'), /has meta that are not those/)
  await refuse(line.replace('"revision":1', '"revision":2'), /its revision differs/)
  await refuse(line.replace(/"index":\d+/, '"index":0'), /its index differs/)
  await refuse('{}', /is not the line of an event/, 2)

  t.match(await run(...last, '--withhold', 'meta', '-o', proof), { exit: 0 })
  const withheld = readFileSync(event, 'utf8')
  t.notMatch(withheld, /"meta"|"actor"/)
  t.match(
    (await verified('', proof, '--vkey', vkey, '--event', event, '-o', 'json')).out,
    /"withheld": \[\s+"meta"\s+\]/,
  )
  await run('prove', '@0', '--withhold', 'data,meta', '-o', proof)
  t.match(await verified('', proof, '--vkey', vkey), { exit: 0, out: /WITHHELD +data, meta/ })
  const stored = readEventFile(line)!
  const dataless = readEventFile(line.replace(/,"data":.*,"meta":/, ',"meta":'))
  t.strictSame([dataless?.data, dataless?.meta], [undefined, stored.meta])
})

await t.test('files that went through mail are read, and a file that is none is no sign of a change', async (t) => {
  const { service, run, file, vkey } = await withService(t)
  await createFlag(service, 'f')
  const [kept, exported] = [file('kept'), file('out')]
  t.match(await run('checkpoint', '--seal', '--save', kept, '--with-hashes'), { exit: 0 })
  t.match(await run('events', 'export', exported), { exit: 0 })
  const [text, hashes] = [readFileSync(kept, 'utf8'), readFileSync(`${kept}.hashes`, 'utf8')]
  const written = (content: string) => {
    writeFileSync(file('mail'), content)
    return file('mail')
  }
  const uses = (path: string): readonly (readonly string[])[] => [
    ['checkpoint', '--compare', path],
    ['events', 'verify', exported, '--checkpoint', path],
    ['events', 'export', file(`out-${++exports}`), '--against', path],
  ]
  let exports = 0
  for (const [way, through] of Object.entries(mailed)) {
    for (const args of uses(written(through(text)))) {
      const { exit, err } = await run(...args)
      t.equal(exit, 0, `${way}: ${args[0]} ${err}`)
    }
    const key = await run('checkpoint', '--vkey', written(through(`${vkey}\n`)))
    t.equal(key.exit, 0, `${way}: ${key.err}`)
    const listed = await run('events', 'verify', exported, '--hashes', written(through(hashes)))
    t.equal(listed.exit, 0, `${way}: ${listed.err}`)
    writeFileSync(`${kept}.hashes`, through(hashes))
    t.match(await run('checkpoint', '--save', kept, '--with-hashes'), { exit: 0 }, way)
  }
  const none: readonly (readonly [content: string, why: string])[] = [
    ['', 'it is empty'],
    ['Dear colleague,\n\nsee below.\n', 'its second line is not a number of events'],
    [text.replace(/^(.*\n\d+\n).*/, '$1x'), 'its third line is not a root'],
    [text.slice(0, text.indexOf('\n\n')), 'it has no signature after an empty line'],
    [text.slice(0, -4), 'a line of a signature is damaged'],
  ]
  for (const [content, why] of none) {
    for (const args of uses(written(content))) {
      const { exit, err } = await run(...args)
      t.match([exit, err], [2, `is not a checkpoint: ${why}`], args.join(' '))
    }
  }
  writeFileSync(file('mail'), Buffer.from(text, 'utf16le'))
  t.match(await run('checkpoint', '--compare', file('mail')), { exit: 2, err: /is not UTF-8|is not a checkpoint/ })
  t.match(await run('checkpoint', '--compare', written(text.replace(/\n\d+\n/, '\n1\n'))), { exit: 3 })
})

await t.test('a retained checkpoint is compared, and hashes are kept', async (t) => {
  const { service, run, file, folder } = await withService(t)
  const first = await run('checkpoint', '--seal', '--save', `${folder}/`, '--with-hashes')
  t.match(first, { exit: 0, err: /Saved as .*checkpoint-\d+/ })
  const [, size] = /Saved as (?:.*)checkpoint-(\d+)/.exec(first.err)!
  const kept = file(`checkpoint-${size}`)
  t.equal(readFileSync(kept, 'utf8'), first.out)
  t.equal((await run('checkpoint')).out, first.out)
  await createFlag(service, 'f')
  const second = await run('checkpoint', '--seal', '--save', folder, '--with-hashes', '--compare', kept)
  t.match(second, { exit: 0, err: new RegExp(`extends .*: its first ${size} events are unchanged`) })
  const hashes = readFileSync(file('hashes'), 'utf8')
  t.equal(hashes.split('\n').length - 1, Number(second.out.split('\n')[1]))
  writeFileSync(file('hashes'), hashes.slice(0, -20))
  t.equal((await run('checkpoint', '--save', folder, '--with-hashes')).exit, 0)
  t.equal(readFileSync(file('hashes'), 'utf8'), hashes, 'an append that was cut off is repeated')
  writeFileSync(file('hashes'), `${'A'.repeat(43)}=\n${hashes.slice(45)}`)
  t.match(await run('checkpoint', '--save', folder, '--with-hashes'), { exit: 3, err: /do not have the root/ })
  writeFileSync(file('hashes'), hashes + hashes)
  t.match(await run('checkpoint', '--save', folder, '--with-hashes'), { exit: 3, err: /shorter than/ })
  t.equal((await run('checkpoint', '--with-hashes')).exit, 2)

  writeFileSync(kept, first.out.replace(`\n${size}\n`, `\n${Number(size) - 1}\n`))
  t.match(await run('checkpoint', '--compare', kept), { exit: 3, err: /has a wrong signature/ })
  t.match(await run('checkpoint', '--save', kept), { exit: 3, err: /has a wrong signature/ }, 'is not replaced')
  t.strictSame(
    (await readdir(folder)).filter((name) => name.endsWith('.new')),
    [],
  )
})

await t.test('a retained checkpoint reveals that a service has another history', async (t) => {
  const [retained, present] = [testLedger(), testLedger()]
  const leaf = (byte: number) => Buffer.alloc(32, byte)
  const [origin, vkey, file] = [ORIGIN, VKEY, join(t.testdir(), 'kept')]
  retained.fill([1, 2, 3].map(leaf))
  const answer = async (leaves: readonly number[]) => {
    present.fill(leaves.map(leaf))
    const text = await present.checkpoint()
    const service = await standIn(({ path }) =>
      path.endsWith('/consistency')
        ? { body: { hashes: [] } }
        : path.endsWith('/checkpoint')
          ? { text }
          : { body: { ledger: '0', origin, keys: [{ vkey }] } },
    )
    t.teardown(service.close)
    return rollcall(['checkpoint', '--compare', file, '--address', service.address])
  }
  writeFileSync(file, await retained.checkpoint())
  t.match(await answer([1, 2, 3]), { exit: 0, err: /extends/ })
  t.match(await answer([1, 2, 4]), { exit: 3, out: /./, err: /does not extend/ })
  t.match(await answer([1, 2, 4, 5]), { exit: 3, err: /does not extend/ })
  t.match(await answer([1, 2]), { exit: 3, err: /shorter than .*: 2 of 3 events/ })
})

await t.test('the commands of the guide on proofs run in their order', async (t) => {
  const { run, file, vkey } = await withService(t)
  const guide = readFileSync(resolve(import.meta.dirname, '../../../docs/guides/prove.md'), 'utf8')
  const commands = [...guide.matchAll(/^ *rollcall (.*)$/gm)].map(([, command]) => command!)
  for (const command of commands) {
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!)
    const given = words.map((word) => {
      if (word.startsWith('flags.example/')) return vkey
      return /\.(ndjson|csv|checkpoint|tlog-proof)$|\/$/.test(word) ? file(word) : word
    })
    const { exit, err } = await run(...given)
    t.equal(exit, 0, `${command}: ${err}`)
  }
  t.ok(commands.length > 7, `${commands.length} commands`)
})
