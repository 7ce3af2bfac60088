import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { MongoClient } from 'mongodb'
import { openLogOf, type Settings } from '../cluster/named-servers.ts'
import { clusterOf, onCluster } from '../cluster/own.ts'

type Kept = readonly (readonly [place: string, bytes: Buffer])[]

const inFiles = async (directory: string): Promise<Kept> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  return Promise.all(files.map(async (file) => [file.slice(directory.length + 1), await readFile(file)] as const))
}

const inEventStore = async (settings: Settings): Promise<Kept> => {
  const log = await openLogOf(settings)
  const kept: (readonly [string, Buffer])[] = []
  for await (const page of log.readAll(0n))
    for (const { stream, revision, type, data, meta } of page)
      kept.push([`events ${stream} ${revision} ${type}`, Buffer.from(`${stream} ${type} ${data} ${meta}`)])
  await log.close()
  return kept
}

const inMongo = async (url: string, database: string): Promise<Kept> => {
  const client = await MongoClient.connect(url, { promoteValues: true })
  const kept: (readonly [string, Buffer])[] = []
  for (const { name } of await client.db(database).listCollections().toArray())
    for (const document of await client.db(database).collection(name).find().toArray())
      kept.push([`mongodb ${name}`, Buffer.from(JSON.stringify(document))])
  await client.close()
  return kept
}

/** `prefix`: that of the keys on a server with keys of other stacks. */
const inRedis = async (url: string, prefix?: string): Promise<Kept> => {
  const client = new Redis(url)
  const kept: (readonly [string, Buffer])[] = []
  for (const key of await client.keys(prefix === undefined ? '*' : `{${prefix}}*`))
    kept.push([`redis ${key}`, Buffer.concat([Buffer.from(key), await client.dumpBuffer(key)])])
  client.disconnect()
  return kept
}

/** Returns all stored data of a service: its files, and the content of its servers. */
export const everythingKept = async (directory: string): Promise<Kept> => {
  const files = await inFiles(directory)
  if (!onCluster) return files
  const settings = await clusterOf(directory)
  const { 'mongodb.url': mongo, 'mongodb.database': database, 'redis.url': redis, 'redis.prefix': prefix } = settings
  return [
    ...files,
    ...(await inEventStore(settings)),
    ...(await inMongo(mongo!, database!)),
    ...(await inRedis(redis!, prefix)),
  ]
}

/** All encodings of a text in a file: plain, hex, and base64 at each of three offsets. */
export const formsOf = (text: string): readonly Buffer[] => {
  const bytes = Buffer.from(text)
  const encoded = [0, 1, 2].flatMap((shift) => {
    const whole = Buffer.concat([Buffer.alloc(shift), bytes])
    const [from, to] = [Math.ceil((shift * 8) / 6), Math.floor((whole.length * 8) / 6)]
    return [whole.toString('base64').slice(from, to), whole.toString('base64url').slice(from, to)]
  })
  return [text, bytes.toString('hex'), bytes.toString('hex').toUpperCase(), encodeURIComponent(text), ...encoded].map(
    (form) => Buffer.from(form),
  )
}
