import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { cp, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Function, type Node, parse } from 'acorn'
import type { Test } from 'tap'

/** Functions of one file that were entered, in order: the name of the file under `src`, once for each entry. */
type Entries = string[]
/** Path of one request through the source: the number of files, and the number of changes from one file to another. */
export type Path = { readonly files: number; readonly changes: number }

const root = resolve(import.meta.dirname, '../..')
/** Name of the global function that instrumented functions call. Worker threads have none. */
const ENTERED = 'rollcallFunctionEntered'

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value
const isFunction = (node: Node): node is Function =>
  ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'].includes(node.type)

/** Returns every function of a module. */
const functionsOf = (node: Node): readonly Function[] => [
  ...(isFunction(node) ? [node] : []),
  ...Object.values(node).flat().filter(isNode).flatMap(functionsOf),
]

/** Inserts a call of `ENTERED` with the name of the file at the beginning of each function body. */
const instrumented = (code: string, name: string): string => {
  const call = `globalThis.${ENTERED}?.(${JSON.stringify(name)})`
  const program = parse(code, { ecmaVersion: 'latest', sourceType: 'module' })
  const insertions = functionsOf(program).flatMap(({ body }) =>
    body.type === 'BlockStatement'
      ? [{ at: body.start + 1, text: `${call};` }]
      : [
          { at: body.start, text: `(${call},` },
          { at: body.end, text: ')' },
        ],
  )
  // From the end to the beginning, so that each insertion leaves the earlier offsets valid.
  return insertions
    .toSorted((a, b) => b.at - a.at)
    .reduce((text, insertion) => text.slice(0, insertion.at) + insertion.text + text.slice(insertion.at), code)
}

/** Copies the compiled source and the compiled test modules to a temporary folder, and instruments the source there. */
export const instrumentedBuild = async (t: Test) => {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'rollcall-instrumented-'))
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  await cp(join(root, 'package.json'), join(folder, 'package.json'))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const part of ['dist/src', 'dist/test'])
    await cp(join(root, part), join(folder, part), {
      recursive: true,
      filter: (path) => !/\.(map|test\.js)$/.test(path),
    })
  const src = join(folder, 'dist/src')
  for (const name of (await readdir(src, { recursive: true })).filter((name) => name.endsWith('.js')))
    await writeFile(join(src, name), instrumented(await readFile(join(src, name), 'utf8'), name))
  return join(folder, 'dist/test')
}

type Started = { readonly request: IncomingMessage; readonly server: Server }
type Finished = { readonly request: IncomingMessage; readonly response: ServerResponse }

/** Entries of the measured request, in the async context of its handling. */
const measurement = new AsyncLocalStorage<Entries>()
Object.assign(globalThis, { [ENTERED]: (name: string) => measurement.getStore()?.push(name) })

/**
 * Counts the entries of instrumented functions in the async context of the next request that the server on this port
 * receives, from its `request` event to its `finish` event. Work that other contexts do for it, as the event follower and
 * the worker threads, is not counted.
 */
export const nextPath = (port: number): Promise<Path> =>
  new Promise((done) => {
    const entries: Entries = []
    let measured: IncomingMessage | undefined
    const begin = (message: unknown) => {
      const { request, server } = message as Started
      if (measured || (server.address() as AddressInfo).port !== port) return
      measured = request
      measurement.enterWith(entries)
    }
    const end = (message: unknown) => {
      if ((message as Finished).request !== measured) return
      unsubscribe('http.server.request.start', begin)
      unsubscribe('http.server.response.finish', end)
      const changes = entries.filter((name, n) => n > 0 && name !== entries[n - 1]).length
      done({ files: new Set(entries).size, changes })
    }
    subscribe('http.server.request.start', begin)
    subscribe('http.server.response.finish', end)
  })
