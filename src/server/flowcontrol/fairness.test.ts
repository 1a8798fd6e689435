import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handOf, hashOf } from './classify.ts';
import { Level, Seats } from './levels.ts';
import type { LevelConfig, Ticket } from './levels.ts';

const config = (name: string, more: Partial<LevelConfig> = {}): LevelConfig => ({
  name,
  exempt: false,
  shares: 10,
  lendablePercent: 0,
  borrowingLimitPercent: undefined,
  queuing: { queues: 8, handSize: 2, lengthLimit: 10 },
  ...more,
});

function occupy(seats: Seats, level: Level, count: number): number {
  let got = 0;
  while (got < count && seats.hasRoom(level, 1)) {
    level.inUse++;
    got++;
  }
  return got;
}

test('levels share the seats, lend what they lend, and keep the rest whoever floods', () => {
  const seats = new Seats(20);
  seats.configure([config('a', { lendablePercent: 50 }), config('b')]);
  const [a, b] = [seats.levels.get('a')!, seats.levels.get('b')!];
  assert.deepEqual([a.nominal, b.nominal], [10, 10]);
  // b floods: its own ten and the five that a lends.
  assert.equal(occupy(seats, b, 100), 15);
  assert.equal(occupy(seats, a, 100), 5, 'what a does not lend is its own at once');
});

test('a borrowing limit holds', () => {
  const seats = new Seats(20);
  seats.configure([config('a', { lendablePercent: 100 }), config('b', { borrowingLimitPercent: 20 })]);
  assert.equal(occupy(seats, seats.levels.get('b')!, 100), 12);
});

test('flows take turns: one that floods does not starve one that does not', () => {
  const seats = new Seats(1);
  seats.configure([config('a')]);
  const level = seats.levels.get('a')!;
  const order: string[] = [];
  const enter = (flow: string): boolean => {
    const ticket: Ticket = { seats: 1, flow, state: 'waiting', start: () => order.push(flow) };
    return level.enqueue(ticket, hashOf(flow));
  };
  assert.equal(occupy(seats, level, 5), 1);
  let taken = 0;
  for (let sent = 0; sent < 50; sent++) if (enter('flood')) taken++;
  assert.equal(taken, 20, 'a hand of two queues of ten');
  assert.ok(enter('quiet'));
  for (let done = 0; done < 4; done++) seats.leave('a', 1);
  assert.ok(order.includes('quiet'), order.join(' '));
});

test('what is given up is not started, and its place is free', () => {
  const seats = new Seats(1);
  seats.configure([config('a')]);
  const level = seats.levels.get('a')!;
  occupy(seats, level, 1);
  const ticket: Ticket = { seats: 1, flow: 'x', state: 'waiting', start: () => assert.fail('started') };
  assert.ok(level.enqueue(ticket, 1));
  seats.giveUp(level, ticket);
  seats.leave('a', 1);
  assert.deepEqual([level.waiting, level.inUse, level.rejected], [0, 0, 1]);
});

test('hands are of different queues and always the same', () => {
  for (let hash = 1; hash < 200; hash++) {
    const hand = handOf(hash * 7919, 64, 8);
    assert.equal(new Set(hand).size, 8);
    assert.deepEqual(hand, handOf(hash * 7919, 64, 8));
  }
});
