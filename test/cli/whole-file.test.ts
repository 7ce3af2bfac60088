import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t from 'tap'
import { writeWhole } from '../../src/cli/whole-file.ts'

await t.test('a replaced file keeps its mode and its symbolic link, and no other file remains', async (t) => {
  const folder = t.testdir()
  const [file, link] = [join(folder, 'a.yml'), join(folder, 'link.yml')]
  writeFileSync(file, 'before')
  writeFileSync(`${file}.new`, 'mine')
  chmodSync(file, 0o640)
  symlinkSync('a.yml', link)
  await writeWhole(link, 'after')
  t.strictSame([readlinkSync(link), readFileSync(file, 'utf8')], ['a.yml', 'after'])
  t.equal(statSync(file).mode & 0o777, 0o640)
  t.equal(readFileSync(`${file}.new`, 'utf8'), 'mine')
  t.strictSame(readdirSync(folder), ['a.yml', 'a.yml.new', 'link.yml'])
})

await t.test('a file that cannot be replaced stays, and no other file remains', async (t) => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'is-a-folder'))
  symlinkSync('nowhere', join(folder, 'broken'))
  const refused = (name: string, why: RegExp) =>
    t.rejects(writeWhole(join(folder, name), 'text'), { kind: 'failed', message: why })
  await refused('is-a-folder', /is-a-folder cannot be written \(a directory\)/)
  await refused('broken', /broken cannot be written \(a broken symbolic link\)/)
  await refused('none/a.yml', /none\/a.yml cannot be written \(ENOENT\)/)
  t.strictSame(readdirSync(folder), ['broken', 'is-a-folder'])
})

await t.test('a named pipe receives the text and stays a pipe', async (t) => {
  const pipe = join(t.testdir(), 'pipe')
  t.equal(spawnSync('mkfifo', [pipe]).status, 0)
  const [text] = await Promise.all([readFile(pipe, 'utf8'), writeWhole(pipe, 'through')])
  t.equal(text, 'through')
  t.ok(statSync(pipe).isFIFO())
})

await t.test('the name of a stream of the process never becomes a file', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'out')
  const module = resolve(import.meta.dirname, '../../src/cli/whole-file.js')
  const program = `import { writeWhole } from ${JSON.stringify(module)}; await writeWhole('/dev/stdout', 'text\\n')`
  const shell = spawn('sh', ['-c', '{ echo first; "$NODE" --input-type=module -e "$PROGRAM"; echo last; } > "$FILE"'], {
    env: { ...process.env, NODE: process.execPath, PROGRAM: program, FILE: file },
    stdio: 'ignore',
  })
  t.equal(await new Promise((done) => shell.on('close', done)), 0)
  t.equal(readFileSync(file, 'utf8'), 'first\ntext\nlast\n')
  t.strictSame(readdirSync(folder), ['out'])
})
