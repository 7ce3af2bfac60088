import type * as Shared from '@eventstore/db-client/generated/shared_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import type * as Streams from '@eventstore/db-client/generated/streams_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import grpc from '@grpc/grpc-js'
import type { Expected, Proposed, Recorded } from './law.ts'

/** Error answer of a gRPC server. */
export type Failure = { readonly code: number; readonly details: string; readonly metadata: grpc.Metadata }

/** Error with the trailers by which the client determines its kind. */
export const failure = (code: number, details: string, trailers: Readonly<Record<string, string>> = {}): Failure => {
  const metadata = new grpc.Metadata()
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, value)
  return { code, details, metadata }
}
export const thrown = () => failure(2, 'Exception was thrown by handler.')
export const streamDeleted = (stream: string) =>
  failure(9, `Event stream '${stream}' is deleted.`, { exception: 'stream-deleted', 'stream-name': stream })
/** gRPC status for HTTP 401; not recorded, because the recorded server was insecure. */
export const unauthenticated = () => failure(16, 'Received HTTP status code 401')
export const tooSlow = () =>
  failure(10, 'Operation timed out: Consumer too slow to handle event while live. Client resubscription required.')

export const identifier = (name: string): Shared.StreamIdentifier => {
  const made = new shared.StreamIdentifier()
  made.setStreamName(Buffer.from(name))
  return made
}
export const nameOf = (given: Shared.StreamIdentifier | undefined): string =>
  Buffer.from(given!.getStreamName_asU8()).toString()

export const uuid = (id: string): Shared.UUID => {
  const made = new shared.UUID()
  made.setString(id)
  return made
}

/** Normalizes an id; undefined if a server does not accept it. */
const idOf = (given: Shared.UUID | undefined): string | undefined => {
  const plain = given?.getString().replaceAll('-', '').toLowerCase() ?? ''
  if (!/^[0-9a-f]{32}$/.test(plain) || /^0+$/.test(plain)) return undefined
  return plain.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Parses a proposed event; undefined if the server would refuse its id or type. */
export const proposed = (message: Streams.AppendReq.ProposedMessage): Proposed | undefined => {
  const id = idOf(message.getId())
  const type = message.getMetadataMap().get('type')
  if (id === undefined || !type) return undefined
  return {
    id,
    type,
    contentType: message.getMetadataMap().get('content-type') ?? '',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  }
}

type Expecting = {
  readonly hasNoStream: () => boolean
  readonly hasStreamExists: () => boolean
  readonly hasRevision: () => boolean
  readonly getRevision: () => string
}
export const expectedOf = (options: Expecting): Expected => {
  if (options.hasNoStream()) return 'no_stream'
  if (options.hasStreamExists()) return 'stream_exists'
  return options.hasRevision() ? BigInt(options.getRevision()) : 'any'
}

/** Expected revision as a number, as in errors of the server. */
export const numbered = (expected: Expected): string =>
  String(typeof expected === 'bigint' ? expected : { no_stream: -1, any: -2, stream_exists: -4 }[expected])

export const success = ({
  revision,
  position,
}: {
  readonly revision: bigint
  readonly position?: bigint
}): Streams.AppendResp => {
  const made = new streams.AppendResp.Success()
  made.setCurrentRevision(String(revision))
  if (position === undefined) made.setNoPosition(new shared.Empty())
  else {
    const at = new streams.AppendResp.Position()
    at.setCommitPosition(String(position))
    at.setPreparePosition(String(position))
    made.setPosition(at)
  }
  const answer = new streams.AppendResp()
  answer.setSuccess(made)
  return answer
}

export const wrongVersion = (expected: Expected, current: bigint | undefined): Streams.AppendResp => {
  const made = new streams.AppendResp.WrongExpectedVersion()
  if (current === undefined) made.setCurrentNoStream(new shared.Empty())
  else made.setCurrentRevision(String(current))
  if (typeof expected === 'bigint') made.setExpectedRevision(String(expected))
  else if (expected === 'no_stream') made.setExpectedNoStream(new shared.Empty())
  else if (expected === 'stream_exists') made.setExpectedStreamExists(new shared.Empty())
  else made.setExpectedAny(new shared.Empty())
  const answer = new streams.AppendResp()
  answer.setWrongExpectedVersion(made)
  return answer
}

const recorded = (event: Recorded): Streams.ReadResp.ReadEvent.RecordedEvent => {
  const made = new streams.ReadResp.ReadEvent.RecordedEvent()
  made.setId(uuid(event.id))
  made.setStreamIdentifier(identifier(event.stream))
  made.setStreamRevision(String(event.revision))
  made.setPreparePosition(String(event.position))
  made.setCommitPosition(String(event.position))
  made
    .getMetadataMap()
    .set('type', event.type)
    .set('content-type', event.contentType)
    .set('created', String(event.created))
  made.setData(event.data)
  made.setCustomMetadata(event.metadata)
  return made
}

const answer = (fill: (response: Streams.ReadResp) => void): Streams.ReadResp => {
  const made = new streams.ReadResp()
  fill(made)
  return made
}

/** Encodes an event, or a link with its target if that is visible. */
export const readEvent = (event: Recorded | undefined, link?: Recorded): Streams.ReadResp => {
  const made = new streams.ReadResp.ReadEvent()
  if (event) made.setEvent(recorded(event))
  if (link) made.setLink(recorded(link))
  made.setCommitPosition(String((link ?? event)!.position))
  return answer((response) => response.setEvent(made))
}
export const notFound = (name: string): Streams.ReadResp => {
  const made = new streams.ReadResp.StreamNotFound()
  made.setStreamIdentifier(identifier(name))
  return answer((response) => response.setStreamNotFound(made))
}
export const confirmation = (): Streams.ReadResp => {
  const made = new streams.ReadResp.SubscriptionConfirmation()
  made.setSubscriptionId(crypto.randomUUID())
  return answer((response) => response.setConfirmation(made))
}
export const caughtUp = (): Streams.ReadResp =>
  answer((response) => response.setCaughtUp(new streams.ReadResp.CaughtUp()))
export const checkpoint = (commit: bigint, prepare: bigint): Streams.ReadResp => {
  const made = new streams.ReadResp.Checkpoint()
  made.setCommitPosition(String(commit))
  made.setPreparePosition(String(prepare))
  return answer((response) => response.setCheckpoint(made))
}
