// Owns listening to containerd's own events: older versions have none over CRI. Only says that something ended, not what it was.
import { method } from '../../wire/grpc-service.ts';
import { message, type Message } from '../../wire/protobuf.ts';

interface SubscribeRequest {
  filters: string[];
}

/** `event` is a google.protobuf.Any. */
interface Envelope {
  topic: string;
  event?: { typeUrl: string; value: Uint8Array };
}

/** The fields of containerd's API that are read here (its api/services/events/v1/events.proto and api/events/task.proto). */
const Any: Message<{ typeUrl: string; value: Uint8Array }> = message('google.protobuf.Any', () => [
  [1, 'typeUrl', 'string', 'one'],
  [2, 'value', 'bytes', 'one'],
]);
const SubscribeRequest: Message<SubscribeRequest> = message('containerd.services.events.v1.SubscribeRequest', () => [
  [1, 'filters', 'string', 'rep'],
]);
const Envelope: Message<Envelope> = message('containerd.services.events.v1.Envelope', () => [
  [3, 'topic', 'string', 'one'],
  [4, 'event', Any, 'opt'],
]);
const TaskExit: Message<{ containerId: string }> = message('containerd.events.TaskExit', () => [
  [1, 'containerId', 'string', 'one'],
]);

export const Events = {
  subscribe: method('/containerd.services.events.v1.Events/Subscribe', SubscribeRequest, Envelope, false, true),
};

export const taskExitFilter = 'topic=="/tasks/exit"';

/** The container or sandbox that a process ended in. */
export function exitedIn({ event }: Envelope): string {
  return event === undefined ? '' : TaskExit.decode(event.value).containerId;
}
